// SPDX-License-Identifier: Apache-2.0
/** The commands about policies: check, explain, publish and compare them. */
@NullMarked
package io.weir.cli.policies;

import org.jspecify.annotations.NullMarked;
