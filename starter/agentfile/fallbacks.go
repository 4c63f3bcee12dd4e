package agentfile

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"everstep/domain"
)

// fallbacks reads the models that take over, in their order.
func (r *reader) fallbacks(field string, node *yaml.Node) []domain.Fallback {
	var fallbacks []domain.Fallback
	r.list(field, node, func(field string, node *yaml.Node) {
		fallbacks = append(fallbacks, r.fallback(field, node))
	})
	return fallbacks
}

// fallback reads provider/name, or a mapping that says when it takes over.
func (r *reader) fallback(field string, node *yaml.Node) domain.Fallback {
	var f domain.Fallback
	if node.Kind != yaml.MappingNode {
		r.model(field, node, &f.Model)
		return f
	}
	keys := r.mapping(field, node,
		key{"model", func(field string, node *yaml.Node) { r.model(field, node, &f.Model) }},
		key{"on", func(field string, node *yaml.Node) { f.On = r.failures(field, node) }},
	)
	if keys["model"] == nil {
		r.problem(node, join(field, "model"), "is missing; %s", modelForm)
	}
	return f
}

// failures reads those that a fallback takes over from, each once. An empty list
// is a problem, since to leave it out means many and not none.
func (r *reader) failures(field string, node *yaml.Node) []domain.Failure {
	var failures []domain.Failure
	r.list(field, node, func(field string, node *yaml.Node) {
		switch failure, ok := word(r, field, node, domain.Failures()); {
		case !ok:
		case slices.Contains(failures, failure):
			r.problem(node, field, "%s is listed twice; keep one", failure)
		default:
			failures = append(failures, failure)
		}
	})
	if node.Kind == yaml.SequenceNode && len(node.Content) == 0 {
		r.problem(node, field, "is empty; name a failure or leave the key out")
	}
	return failures
}

// timeouts reads those of an attempt. The parts of a request are kept apart: they
// hold for models that may not have been read yet.
func (r *reader) timeouts(field string, node *yaml.Node, d *domain.Definition, parts *domain.Timeouts) {
	r.mapping(field, node,
		r.duration("inference", &d.InferenceTimeout), r.duration("tool", &d.ToolTimeout),
		r.duration("connect", &parts.Connect), r.duration("first_byte", &parts.FirstByte), r.duration("idle", &parts.Idle),
	)
}

// resolveFallbacks names all failures that each takes over from.
func resolveFallbacks(fallbacks []domain.Fallback) []Fallback {
	var resolved []Fallback
	for _, f := range fallbacks {
		on := slices.DeleteFunc(domain.Failures(), func(failure domain.Failure) bool { return !f.Takes(failure) })
		resolved = append(resolved, Fallback{Model: resolveModel(f.Model), On: on})
	}
	return resolved
}
