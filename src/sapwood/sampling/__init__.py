"""Which rows and features count this round. All choices are hashes of ids, so threads, pages and machines agree."""
