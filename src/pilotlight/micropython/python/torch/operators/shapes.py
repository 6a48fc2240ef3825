# Operators on shapes.


def swapaxes(input, axis0, axis1):
    return input.transpose(axis0, axis1)


def swapaxes_(input, axis0, axis1):
    return input.transpose_(axis0, axis1)


def swapdims(input, dim0, dim1):
    return input.transpose(dim0, dim1)


def swapdims_(input, dim0, dim1):
    return input.transpose_(dim0, dim1)
