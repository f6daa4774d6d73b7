"""The docs site: pages that are made while it is built, and the pictures of its gallery."""
