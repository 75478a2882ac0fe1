"""The only folder that names an array library or an executor: threads, memory."""
