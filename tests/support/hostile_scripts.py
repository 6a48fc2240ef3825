"""TorchScript archives with code that PyTorch never wrote: each is hostile or broken in one way."""

from __future__ import annotations

import io
import warnings
import zipfile
from functools import cache

import torch
from torch import nn

from support.hostile_files import text


class _Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("b", torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.b


@cache
def plain() -> bytes:
    """An archive as PyTorch writes it."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(_Plain().eval()), buffer)
    return buffer.getvalue()


def changed(replaced: dict[str, bytes | None], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """The archive with other contents for some of its files; code.py is that of the module."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(plain())) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            short = name.partition("/")[2]
            key = "code.py" if short.endswith(".py") else short
            data = replaced.get(key, old.read(name))
            if data is not None:
                new.writestr(name, data, method if key == "code.py" else zipfile.ZIP_STORED)
    return buffer.getvalue()


def source() -> str:
    with zipfile.ZipFile(io.BytesIO(plain())) as file:
        return next(file.read(name).decode() for name in file.namelist() if name.endswith(".py"))


def in_forward(line: str) -> bytes:
    """A line before the last one of `forward`."""
    before, _, after = source().rpartition("    return ")
    return changed({"code.py": f"{before}    {line}\n    return {after}".encode()})


def after(more: str) -> bytes:
    return changed({"code.py": (source() + more).encode()})


WORD = "is none of TorchScript's words, so this code is not run"
NAME = "the archive's code uses a name that TorchScript does not have"
NOT_BUILT = "is not in this build of torch"
# What each is, the file, the sentence that refuses it, and whether only the call is refused.
SCRIPTS: dict[str, tuple[bytes, str, bool]] = {
    "import": (in_forward("import os"), "import " + WORD, False),
    "import in an if": (in_forward("if True: import os"), "import " + WORD, False),
    "import after a semicolon": (in_forward("pass; import os"), "; " + WORD, False),
    "from": (in_forward("from os import remove"), "from " + WORD, False),
    "import of __torch__": (in_forward("import __torch__"), "import " + WORD, False),
    "a class of its own that imports": (after("class B(Module):\n  import os\n"), "import " + WORD, False),
    "open": (in_forward("open('hacked', 'w')"), NAME, True),
    "eval": (in_forward("eval('1')"), NAME, True),
    "exec": (in_forward("exec('1')"), NAME, True),
    "compile": (in_forward("compile('1', 'a', 'exec')"), NAME, True),
    "globals": (in_forward("globals()"), NAME, True),
    "type": (in_forward("type(x)"), NAME, True),
    "setattr": (in_forward("setattr(x, 'y', 1)"), NAME, True),
    "__import__": (in_forward("__import__('os')"), "__import__ " + WORD, False),
    "__class__": (in_forward("x.__class__"), "__class__ " + WORD, False),
    "__globals__": (in_forward("torch.size.__globals__"), "__globals__ " + WORD, False),
    "__getattr__": (in_forward("torch.__getattr__"), "__getattr__ " + WORD, False),
    "__dict__": (in_forward("self.__dict__"), "__dict__ " + WORD, False),
    "getattr of __class__": (in_forward("getattr(self, '__class__')"), NAME, True),
    "getattr of a tensor": (in_forward("getattr(x, 'shape')"), NAME, True),
    "del of a name": (in_forward("del open"), "del " + WORD, False),
    "global": (in_forward("global open"), "global " + WORD, False),
    "lambda": (in_forward("y = lambda: 1"), "lambda " + WORD, False),
    "try": (in_forward("try: pass"), "try " + WORD, False),
    "a decorator": (after("@open\ndef f(x):\n  pass\n"), "@ " + WORD, False),
    "f-string": (in_forward('y = f"{open}"'), '" ' + WORD, False),
    "raw text": (in_forward('y = r"\\"'), '" ' + WORD, False),
    "text over lines": (in_forward('y = """\n""; import os"""'), '""" ' + WORD, False),
    "text that goes on": (in_forward('y = "a\\\n"; import os; z = "'), '" ' + WORD, False),
    "a line that goes on": (in_forward("y = 1 + \\\n 1"), "\\ " + WORD, False),
    "a tab": (in_forward("\tpass"), "? " + WORD, False),
    "code outside": (after("while True: pass\n"), "w " + WORD, False),
    "code at the start": (changed({"code.py": b"while True: pass\n"}), "this is neither a class nor a function", False),
    "torch.save": (in_forward("torch.save(x, 'hacked')"), "torch.save " + NOT_BUILT, True),
    "torch.load": (in_forward("torch.load('m.pt')"), "torch.load " + NOT_BUILT, True),
    "torch.jit_load": (in_forward("torch.jit_load('m.pt')"), "torch.jit_load " + NOT_BUILT, True),
    "torch._run": (in_forward("torch._run(x, x)"), "torch._run " + NOT_BUILT, True),
    "torch._nn": (in_forward("torch._nn._jit_source('')"), "torch._nn " + NOT_BUILT, True),
    "an operator that there is not": (in_forward("torch.linalg_eig(x)"), "torch.linalg_eig " + NOT_BUILT, True),
    "brackets in brackets": (in_forward("y = " + "(" * 999 + ")" * 999), "( " + WORD, False),
    "brackets that are not opened": (in_forward("y = 1)"), ") " + WORD, False),
    "no Python": (in_forward("y = = 1"), "this is no TorchScript: invalid syntax", False),
    "a class that fails": (after("class B(Module):\n  a = torch.nothing\n"), "torch.nothing " + NOT_BUILT, False),
    "no text": (changed({"code.py": b"class \xff(Module):\n"}), "code/__torch__/", False),
    "a bomb": (changed({"code.py": bytes(2_000_000)}), "has 2000000 bytes, and at most 262144 are read", False),
    "much in few bytes": (changed({"code.py": b" " * 250_000}), "the archive has no class", False),
    "no constants": (changed({"constants.pkl": None}), "it has no TorchScript in it", False),
    "no data": (changed({"data.pkl": None}), "it has no TorchScript in it", False),
    "not a module": (changed({"data.pkl": b"\x80\x02K\x01."}), "data.pkl holds no module", False),
    "os.system": (changed({"data.pkl": b"\x80\x02cos\nsystem\n(X\x04\x00\x00\x00echotR."}),
                  "Unsupported global: GLOBAL os.system", False),
    "an unknown class": (changed({"data.pkl": b"\x80\x02c__torch__.x\nNone\n)\x81."}),
                         "the archive has no class __torch__.x.None", False),
    "a class of ours": (changed({"data.pkl": b"\x80\x02c__torch__\n__class__\n)\x81."}),
                        "the archive has no class __torch__.__class__", False),
    "state of a number": (changed({"data.pkl": b"\x80\x02K\x01}b."}), "data.pkl gives attributes to", False),
    "state that is none": (changed({"data.pkl": b"\x80\x02)\x81."}), "data.pkl", False),
    "doubles": (changed({"data.pkl": b"\x80\x02(" + text("storage") + b"ctorch\nDoubleStorage\n" + text("0") +
                         text("cpu") + b"K\x02tQ."}), "torch.float64 is a type that there is not here", False),
}


def mutable() -> list[bytes]:
    """Archives whose code, compressed or not, or whose pickle comes first."""
    made = []
    for first, method in (("code.py", zipfile.ZIP_STORED), ("code.py", zipfile.ZIP_DEFLATED), ("data.pkl", 0)):
        buffer = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(plain())) as old, zipfile.ZipFile(buffer, "w") as new:
            for name in sorted(old.namelist(), key=lambda name: not name.endswith(first.removeprefix("code"))):
                if not name.endswith(".debug_pkl"):
                    new.writestr(name, old.read(name), method if name.endswith(".py") else zipfile.ZIP_STORED)
        made.append(buffer.getvalue())
    return made
