"""WHAT content may be: checks, patches, text, addresses. Pure: values in, values out, no database."""
