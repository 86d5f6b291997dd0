// SPDX-License-Identifier: Apache-2.0
/**
 * Identifies the callers of a gateway by the tokens of the callers' issuer. The package uses the
 * verification of {@code access}, and does not depend on an HTTP server.
 */
@NullMarked
package io.weir.access.caller;

import org.jspecify.annotations.NullMarked;
