// SPDX-License-Identifier: Apache-2.0
/**
 * Bounds that every HTTP port of Weir has: the number of connections, and the time in which a
 * request must arrive. May depend on Jetty and {@code io.weir.topics.process}.
 */
@NullMarked
package io.weir.access.port;

import org.jspecify.annotations.NullMarked;
