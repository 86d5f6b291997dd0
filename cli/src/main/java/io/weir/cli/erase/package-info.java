// SPDX-License-Identifier: Apache-2.0
/**
 * Erases the rows of one client from the state topic. Depends on the wire formats of the topics,
 * Kafka's clients, and the verifier's topic reader.
 */
@NullMarked
package io.weir.cli.erase;

import org.jspecify.annotations.NullMarked;
