# One handler for each stream; there are no files, filters or propagation.
import sys

NOTSET, DEBUG, INFO, WARNING, ERROR, CRITICAL = 0, 10, 20, 30, 40, 50
WARN, FATAL = WARNING, CRITICAL
_NAMES = {0: "NOTSET", 10: "DEBUG", 20: "INFO", 30: "WARNING", 40: "ERROR", 50: "CRITICAL"}
_loggers = {}
_lowest = 0


def getLevelName(level):
    if level in _NAMES:
        return _NAMES[level]
    for number, name in _NAMES.items():
        if name == level:
            return number
    return "Level %s" % level


class Formatter:
    def __init__(self, fmt=None, datefmt=None, style="%"):
        self.text = fmt or "%(message)s"

    def format(self, record):
        return self.text % record


class StreamHandler:
    def __init__(self, stream=None):
        self.stream = stream or getattr(sys, "stderr", None) or sys.stdout
        self.level, self.formatter = NOTSET, Formatter()

    def setFormatter(self, formatter):
        self.formatter = formatter

    def setLevel(self, level):
        self.level = getLevelName(level) if isinstance(level, str) else level

    def emit(self, record):
        if record["levelno"] >= self.level:
            print(self.formatter.format(record), file=self.stream)


class NullHandler(StreamHandler):
    def emit(self, record):
        pass


class Logger:
    def __init__(self, name, level=NOTSET):
        self.name, self.level, self.handlers, self.disabled = name, level, [], False

    def setLevel(self, level):
        self.level = getLevelName(level) if isinstance(level, str) else level

    def getEffectiveLevel(self):
        return self.level or root.level

    def isEnabledFor(self, level):
        return level >= self.getEffectiveLevel() and level > _lowest and not self.disabled

    def addHandler(self, handler):
        if handler not in self.handlers:
            self.handlers.append(handler)

    def removeHandler(self, handler):
        if handler in self.handlers:
            self.handlers.remove(handler)

    def hasHandlers(self):
        return bool(self.handlers or root.handlers)

    def log(self, level, msg, *args, exc_info=None, **kwargs):
        if not self.isEnabledFor(level):
            return
        one = args[0] if len(args) == 1 and isinstance(args[0], dict) else args
        record = {"name": self.name, "levelno": level, "levelname": getLevelName(level), "asctime": "", "filename": "",
                  "lineno": 0, "funcName": "", "module": "", "message": str(msg) % one if args else str(msg)}
        handlers = self.handlers + ([] if self is root else root.handlers)
        if not handlers and level >= WARNING:
            handlers = [StreamHandler()]
        for handler in handlers:
            handler.emit(record)
            if isinstance(exc_info, BaseException):
                sys.print_exception(exc_info, handler.stream)

    def debug(self, msg, *args, **kwargs):
        self.log(DEBUG, msg, *args, **kwargs)

    def info(self, msg, *args, **kwargs):
        self.log(INFO, msg, *args, **kwargs)

    def warning(self, msg, *args, **kwargs):
        self.log(WARNING, msg, *args, **kwargs)

    def error(self, msg, *args, **kwargs):
        self.log(ERROR, msg, *args, **kwargs)

    def critical(self, msg, *args, **kwargs):
        self.log(CRITICAL, msg, *args, **kwargs)

    warn, exception, fatal = warning, error, critical


root = Logger("root", WARNING)


def getLogger(name=None):
    if not name or name == "root":
        return root
    if name not in _loggers:
        _loggers[name] = Logger(name)
    return _loggers[name]


def basicConfig(stream=None, level=None, format=None, handlers=None, force=False, filename=None, **kwargs):
    if filename is not None:
        raise NotImplementedError("logging to a file is not here: give basicConfig a stream")
    if root.handlers and not force:
        return
    root.handlers = list(handlers or [StreamHandler(stream)])
    for handler in root.handlers:
        handler.setFormatter(Formatter(format or "%(levelname)s:%(name)s:%(message)s"))
    if level is not None:
        root.setLevel(level)


def disable(level=CRITICAL):
    global _lowest
    _lowest = level


# A function of the module gives the root a handler first.
def _of_root(name):
    def call(*args, **kwargs):
        basicConfig()
        getattr(root, name)(*args, **kwargs)

    return call


debug, info, warning, error = _of_root("debug"), _of_root("info"), _of_root("warning"), _of_root("error")
critical, exception, log, warn = _of_root("critical"), _of_root("error"), _of_root("log"), warning
