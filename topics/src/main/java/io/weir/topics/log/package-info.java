// SPDX-License-Identifier: Apache-2.0
/**
 * Reading Weir's topics over Kafka's consumer: the headers of records, and ranges of the calls
 * topic. The package depends on the catalogue, the wire formats and the Kafka clients.
 */
@NullMarked
package io.weir.topics.log;

import org.jspecify.annotations.NullMarked;
