// What the peers are given: files of records, in the byte order of this machine unless stated otherwise.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// A port of the router. Record `ports[i]` is port i.
struct port {
	uint8_t mac[6];
	uint8_t any_mac; // accepts unicast frames for any station
	uint8_t zero;
};

// A next hop. Record `hops[i]` is next hop i.
struct hop {
	uint16_t port, mtu, vlan;
	uint8_t labels, zero;
	uint32_t label, second;
	uint8_t macs[12]; // destination, then source; a destination of zeros: not known yet
	uint32_t zeros;
};

enum kind { NONE, FORWARD, OWN, DIRECTED_BROADCAST, CONNECTED, REJECT, DISCARD };

// What a prefix leads to. Record 0 is that of an address without a prefix.
struct value {
	uint16_t next_hop;
	uint8_t class;
	uint8_t kind;
};

struct prefix {
	uint8_t address[16]; // network order; an IPv4 address is in the first four bytes
	uint32_t value;	     // its record
	uint8_t length;
	uint8_t zero[3];
};

// Begins a packet; its bytes follow, without padding.
struct packet {
	uint32_t length;
	uint16_t ingress, zero;
};

static inline void fail(const char *what)
{
	fprintf(stderr, "the DPDK peer: %s\n", what);
	exit(2);
}

// Reads the whole file NAME of a folder, whose size must be a multiple of `size`; returns the number of records.
static inline size_t read_records(const char *folder, const char *name, size_t size, void **records)
{
	char path[4096];
	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		fail("the folder's path is too long");
	FILE *file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END))
		fail(path);
	long length = ftell(file);
	if (length < 0 || length % (long)size)
		fail(path);
	rewind(file);
	*records = malloc(length ? (size_t)length : 1);
	if (!*records || fread(*records, 1, (size_t)length, file) != (size_t)length)
		fail(path);
	fclose(file);
	return (size_t)length / size;
}

static inline uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
