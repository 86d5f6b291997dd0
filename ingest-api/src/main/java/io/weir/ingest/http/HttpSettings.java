// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

/**
 * How the check API listens.
 *
 * @param host the address to bind
 * @param port the port; 0 takes any free one
 * @param virtualThreads whether requests run on virtual threads, which the JVM must have
 */
public record HttpSettings(String host, int port, boolean virtualThreads) {}
