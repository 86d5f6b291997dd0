// SPDX-License-Identifier: Apache-2.0
/**
 * A real single-node Kafka broker inside this process and a real redis-server beside it, over
 * folders that survive them. Depends on the Kafka broker's jars and on the redis-server binary, but
 * not on other modules of Weir.
 */
@NullMarked
package io.weir.servers;

import org.jspecify.annotations.NullMarked;
