// SPDX-License-Identifier: Apache-2.0
/**
 * Turns the configuration of Envoy's own rate limit service into policies. Pure: trees in, trees
 * and problems out.
 */
@NullMarked
package io.weir.cli.envoy;

import org.jspecify.annotations.NullMarked;
