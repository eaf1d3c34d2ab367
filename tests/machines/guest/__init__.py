"""A disposable server with a kernel of its own, under qemu: for what a container cannot show, above all a boot."""
