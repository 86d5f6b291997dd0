// SPDX-License-Identifier: Apache-2.0
/**
 * Readers of the calls topic and of record headers. The package depends on the catalogue, the wire
 * formats and the Kafka clients.
 */
@NullMarked
package io.weir.topics.log;

import org.jspecify.annotations.NullMarked;
