// SPDX-License-Identifier: Apache-2.0
/**
 * Access control of the ports of a process: TLS, and bearer tokens of a file or of an issuer (JWT)
 * with their scopes.
 */
@NullMarked
package io.weir.access;

import org.jspecify.annotations.NullMarked;
