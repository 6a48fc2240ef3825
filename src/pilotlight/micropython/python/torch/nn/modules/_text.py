# Methods of Module that write what it is.


def __repr__(self):
    extra = self.extra_repr()
    lines = self._lines()
    if lines or "\n" in extra:
        extra = ("\n" + "\n".join(([extra] if extra else []) + lines)).replace("\n", "\n  ") + "\n"
    return self._get_name() + "(" + extra + ")"


def _get_name(self):
    return type(self).__name__


def _lines(self):
    return ["(%s): %r" % (name, module) for name, module in self._modules.items()]


# of ModuleList: equal neighbours are one line, (0-2): 3 x ReLU()
def numbered_lines(self):
    lines, texts = [], [repr(m) for m in self]
    start = 0
    for k in range(len(texts)):
        if k + 1 == len(texts) or texts[k + 1] != texts[k]:
            many = "" if k == start else "-%d): %d x " % (k, k + 1 - start)
            lines.append("(%d%s%s" % (start, many or "): ", texts[k]))
            start = k + 1
    return lines


def extra_repr(self):
    return self._text and globals()[self._text](self) or ""


def _named(self, names):
    return ", ".join(["%s=%s" % (n, getattr(self, n) is not None if n == "bias" else getattr(self, n)) for n in names])


def linear(self):
    return _named(self, ("in_features", "out_features", "bias"))


def batch_norm(self):
    names = ("eps", "momentum", "affine", "bias", "track_running_stats")
    return str(self.num_features) + ", " + _named(self, names)


def conv(self):
    text = "%s, %s, " % (self.in_channels, self.out_channels)
    names = ["kernel_size", "stride"]
    for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
        if getattr(self, name) != (usual,) * self._rank:
            names.append(name)
    if self.groups != 1:
        names.append("groups")
    if self.bias is None:
        names.append("bias")
    if self.padding_mode != "zeros":
        names.append("padding_mode")
    return text + _named(self, names)


def simple(self):
    parts = []
    for mark, name, _, _, _ in self._spec:
        if mark in ("", "@", "!") or mark in ("?", "~") and getattr(self, name) not in (None, False):
            value = getattr(self, name)
            parts.append(str(value) if mark == "@" else name + "=" + repr(value))
    return ", ".join(parts)
