// SPDX-License-Identifier: Apache-2.0
/**
 * How processes read Weir's topics over Kafka's consumer: its settings, the headers of records, and
 * ranges of the calls topic. Depends on the catalogue, the wire forms and the Kafka clients.
 */
@NullMarked
package io.weir.topics.log;

import org.jspecify.annotations.NullMarked;
