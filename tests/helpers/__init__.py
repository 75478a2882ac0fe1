"""What several test files share: references, data, a browser; found through `pythonpath`."""
