// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.weir.testing.suite;

import org.jspecify.annotations.NullMarked;
