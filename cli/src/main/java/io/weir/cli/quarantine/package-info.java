// SPDX-License-Identifier: Apache-2.0
/**
 * Lists the content of the quarantine, and replays it. This package depends on the wire formats of
 * the topics, Kafka's clients, and the reader in {@code records}.
 */
@NullMarked
package io.weir.cli.quarantine;

import org.jspecify.annotations.NullMarked;
