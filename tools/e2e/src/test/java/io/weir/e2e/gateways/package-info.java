// SPDX-License-Identifier: Apache-2.0
/**
 * The gateways of Debian in front of a small application, configured as {@code docs/gateways.md}
 * says, and asking two real ingest nodes.
 */
@NullMarked
package io.weir.e2e.gateways;

import org.jspecify.annotations.NullMarked;
