"""What every part of setveil builds on."""
