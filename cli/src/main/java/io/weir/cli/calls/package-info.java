// SPDX-License-Identifier: Apache-2.0
/** The command that prints recorded calls. */
@NullMarked
package io.weir.cli.calls;

import org.jspecify.annotations.NullMarked;
