// SPDX-License-Identifier: Apache-2.0
/**
 * Converts configurations of Envoy's rate limit service into policies. The package has no side
 * effects: it converts trees to trees and problems.
 */
@NullMarked
package io.weir.cli.envoy;

import org.jspecify.annotations.NullMarked;
