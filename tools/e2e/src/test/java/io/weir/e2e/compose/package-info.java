// SPDX-License-Identifier: Apache-2.0
/**
 * The cluster of {@code docker-compose.yml} under load and faults that containers have; only with
 * {@code -Pcontainers}.
 */
@NullMarked
package io.weir.e2e.compose;

import org.jspecify.annotations.NullMarked;
