// SPDX-License-Identifier: Apache-2.0
/**
 * The environment variables of a process, as typed settings. The package depends only on the JDK.
 */
@NullMarked
package io.weir.topics.settings;

import org.jspecify.annotations.NullMarked;
