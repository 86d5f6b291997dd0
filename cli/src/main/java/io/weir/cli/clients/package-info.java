// SPDX-License-Identifier: Apache-2.0
/** The commands about clients, their keys, and tokens. */
@NullMarked
package io.weir.cli.clients;

import org.jspecify.annotations.NullMarked;
