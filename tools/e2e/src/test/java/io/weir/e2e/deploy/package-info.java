// SPDX-License-Identifier: Apache-2.0
/** The manifests and units of the folder {@code deploy}, held against what would read them. */
@NullMarked
package io.weir.e2e.deploy;

import org.jspecify.annotations.NullMarked;
