// SPDX-License-Identifier: Apache-2.0
/**
 * Erases the rows of one client from the state topic. This package depends on the wire formats of
 * the topics, Kafka's clients, and the reader in {@code records}.
 */
@NullMarked
package io.weir.cli.erase;

import org.jspecify.annotations.NullMarked;
