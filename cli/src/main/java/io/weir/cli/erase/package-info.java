// SPDX-License-Identifier: Apache-2.0
/**
 * Erases what the state topic holds of a client. Depends on the wire forms of the topics, Kafka's
 * clients, and the verifier's topic reader.
 */
@NullMarked
package io.weir.cli.erase;

import org.jspecify.annotations.NullMarked;
