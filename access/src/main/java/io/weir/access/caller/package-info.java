// SPDX-License-Identifier: Apache-2.0
/**
 * Identification of a gateway's callers by the callers' tokens. The package uses the token
 * verification of {@code access}, and does not depend on an HTTP server.
 */
@NullMarked
package io.weir.access.caller;

import org.jspecify.annotations.NullMarked;
