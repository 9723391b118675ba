"""Integrations with other libraries, one module per library. Each imports its library, so import the module you need."""
