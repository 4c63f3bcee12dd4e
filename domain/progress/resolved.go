package progress
