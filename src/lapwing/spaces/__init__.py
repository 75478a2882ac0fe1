"""Function spaces: kernel expansions, linear functions, features, and values on new rows."""
