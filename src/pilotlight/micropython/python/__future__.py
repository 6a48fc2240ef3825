annotations = division = print_function = absolute_import = None
