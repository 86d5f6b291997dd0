// SPDX-License-Identifier: Apache-2.0
/**
 * Access control for the ports of a process: TLS, and bearer tokens with scopes. Tokens come from a
 * file or from an issuer (JWT).
 */
@NullMarked
package io.weir.access;

import org.jspecify.annotations.NullMarked;
