# Methods of Module that give and take its state.
from collections import OrderedDict, namedtuple

from _torch import Parameter, Tensor


class _IncompatibleKeys(namedtuple("_IncompatibleKeys", ("missing_keys", "unexpected_keys"))):
    def __repr__(self):
        if self.missing_keys or self.unexpected_keys:
            return "_IncompatibleKeys(missing_keys=%s, unexpected_keys=%s)" % (self.missing_keys, self.unexpected_keys)
        return "<All keys matched successfully>"

    __str__ = __repr__


# (key, module, name, value) of everything that a state dict holds
def _state(self, prefix=""):
    for table in (self._parameters, self._buffers):
        for name, value in table.items():
            if value is not None and not (table is self._buffers and name in self._transient):
                yield prefix + name, self, name, value
    for name, module in self._modules.items():
        if module is not None:
            yield from _state(module, prefix + name + ".")


def state_dict(self, destination=None, prefix="", keep_vars=False):
    destination = OrderedDict() if destination is None else destination
    for key, _, _, value in _state(self, prefix):
        destination[key] = value if keep_vars else value.detach()
    return destination


def _quoted(names):
    return ", ".join(['"' + n + '"' for n in names])


def load_state_dict(self, state_dict, strict=True, assign=False):
    if not isinstance(state_dict, dict):
        raise TypeError("Expected state_dict to be dict-like, got " + str(type(state_dict)) + ".")
    missing, wrong, known = [], [], set()
    for key, module, name, value in _state(self):
        known.add(key)
        given = state_dict.get(key)
        if given is None:
            if name != "num_batches_tracked":
                missing.append(key)
        elif not isinstance(given, Tensor):
            wrong.append(
                'While copying the parameter named "%s", expected torch.Tensor or Tensor-like object from checkpoint '
                "but received %s" % (key, type(given))
            )
        elif given.shape != value.shape:
            wrong.append(
                "size mismatch for %s: copying a param with shape %s from checkpoint, the shape in current model is %s."
                % (key, given.shape, value.shape)
            )
        elif not assign:
            value.copy_(given)
        elif isinstance(value, Parameter):
            module._parameters[name] = Parameter(given, value.requires_grad)
        else:
            module._buffers[name] = given
    unexpected = [key for key in state_dict if key not in known]
    if strict:
        if unexpected:
            wrong.insert(0, "Unexpected key(s) in state_dict: " + _quoted(unexpected) + ". ")
        if missing:
            wrong.insert(0, "Missing key(s) in state_dict: " + _quoted(missing) + ". ")
    if wrong:
        raise RuntimeError(
            "Error(s) in loading state_dict for %s:\n\t%s" % (type(self).__name__, "\n\t".join(wrong))
        )
    return _IncompatibleKeys(missing, unexpected)
