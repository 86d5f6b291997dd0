// SPDX-License-Identifier: Apache-2.0
/**
 * Limits of every HTTP port: the number of connections, and the time for the arrival of a request.
 * The package may depend on Jetty and {@code io.weir.topics.process}.
 */
@NullMarked
package io.weir.access.port;

import org.jspecify.annotations.NullMarked;
