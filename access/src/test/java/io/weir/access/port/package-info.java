// SPDX-License-Identifier: Apache-2.0
/** Tests of the limits of HTTP ports. */
@NullMarked
package io.weir.access.port;

import org.jspecify.annotations.NullMarked;
