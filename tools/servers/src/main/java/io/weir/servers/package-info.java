// SPDX-License-Identifier: Apache-2.0
/**
 * Starts a Kafka broker in this JVM, and a redis-server in a child process. The data folders remain
 * when the servers stop. Depends on the Kafka broker's jars and on the redis-server binary, but not
 * on other modules of Weir.
 */
@NullMarked
package io.weir.servers;

import org.jspecify.annotations.NullMarked;
