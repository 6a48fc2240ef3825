# The names of a module that few programs import. Where such modules are packed, another file takes this one's place.
def load(name, names=None):
    module = __import__(name)
    for part in name.split(".")[1:]:
        module = getattr(module, part)
    return module.__dict__
