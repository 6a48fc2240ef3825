# torch.jit.load. What it does is in torch/_jit.py and _script.py, which are loaded here, among the names of operators.
import _torch
import torch


class jit_Error(Exception):
    pass


def jit_load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    if isinstance(map_location, str):
        map_location = torch.device(map_location)
    source = _Source(f, None)
    try:
        entries = _entries(source)
        if "constants.pkl" not in entries or "data.pkl" not in entries:
            _refuse_file("it has no TorchScript in it; use torch.load for tensors")
        _check_order(source, entries)
        source.reserve([entries[name] for name in entries if name[:5] == "data/" or name[:10] == "constants/"])
        if "_script_load" not in _names:
            # what those files use
            _names.update({"_shown": _shown, "_unpickle": _unpickle, "_find_global": _find_global, "jit_Error": jit_Error})
            for name in ("_script", "_jit"):
                torch._packed.load("torch." + name, _names)
        return _names["_script_load"](source, entries, lambda folder: _storages(source, entries, map_location, folder))
    finally:
        source.close()
