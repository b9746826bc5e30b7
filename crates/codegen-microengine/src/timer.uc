    ; The core sends packets of timers, which come from port 65,535.
    br_bclr[status, 17, of_port#]
    immed[number, 0xffff]
of_port#:
