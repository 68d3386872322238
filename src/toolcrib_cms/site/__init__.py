"""WHAT visitors see: the site as plain HTML, made anew for each request. No build step, no scripts."""
