"""Generated and hand-written C against Cppcheck's MISRA C:2012 checks: `make misra`."""
