"""Array libraries and executors: the only package that names one."""
