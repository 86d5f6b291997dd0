// SPDX-License-Identifier: Apache-2.0
/**
 * Who the callers of a gateway are, by the tokens of an issuer of their own. Verifies by what
 * {@code access} has; knows no HTTP server.
 */
@NullMarked
package io.weir.access.caller;

import org.jspecify.annotations.NullMarked;
