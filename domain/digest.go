package domain

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
)

// A Digest names bytes: the first 16 bytes of their SHA-256. It tells equal
// from different; it is not a signature. On the wire it is 22 characters of
// unpadded base64url; the zero value is the empty text.
type Digest [16]byte

// DigestOf returns the digest of the parts. Their lengths count, so that
// ("ab", "c") and ("a", "bc") differ.
func DigestOf(parts ...[]byte) Digest {
	hash := sha256.New()
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		hash.Write(length[:])
		hash.Write(part)
	}
	return Digest(hash.Sum(nil)[:16])
}

// IsZero reports whether there is no digest.
func (d Digest) IsZero() bool { return d == Digest{} }

// String returns the wire form.
func (d Digest) String() string {
	if d.IsZero() {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(d[:])
}

// MarshalText returns the wire form.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the wire form.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = Digest{}
		return nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(string(text))
	if err != nil || len(raw) != len(d) {
		return fmt.Errorf("digest: %q is not 22 characters of base64url", string(text))
	}
	copy(d[:], raw)
	return nil
}
