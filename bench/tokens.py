"""How far the token estimate is off, and how fast counting is; the weights of the estimate are fitted here.

    python -m bench.tokens

The recorded sessions are split by name: the weights are fitted on one half and judged on the other. There is no Chinese
in the sessions and next to nothing in other scripts, so a few invented sentences take their place, every other one.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import redline
from bench.corpus import CORPUS, manifest_rows
from redline.errors import TranscriptError
from redline.tokens import Estimate, Exact, Remembered
from redline.tokens.estimate import FEATURES, WEIGHTS, count_features, pieces
from redline.tools import Reads, describe
from redline.values import payloads
from redline.values.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult

_RARE_KINDS = ("Chinese", "other scripts")
_RARE_FEATURES = (
    "Greek",
    "Cyrillic",
    "Hebrew, Arabic",
    "Indic, Thai",
    "kana, CJK signs",
    "Chinese characters",
    "Hangul",
    "full width",
)
_KINDS = ("prose", "code", "tool output", "JSON", *_RARE_KINDS)
_LEAST_CHARS, _MOST_CHARS = 30, 40_000
_REPEATS = 10_000


class Sample(NamedTuple):
    """One text, what kind it is, and how many tokens it has."""

    kind: str
    text: str
    tokens: int
    is_for_fitting: bool
    """Which half it belongs to."""


def main() -> None:
    """Fit, judge, and measure."""
    samples = list(_samples())
    fitting = [sample for sample in samples if sample.is_for_fitting]
    judging = [sample for sample in samples if not sample.is_for_fitting]
    weights = _fit(fitting)
    _print_weights(weights)
    _print_errors(judging, weights)
    _print_pieces([sample.text for sample in samples])
    _print_speed([sample.text for sample in judging])


# --- texts


def _samples() -> Iterator[Sample]:
    exact, seen = Exact(), set()
    for kind, text, is_for_fitting in (*_recorded(), *_invented()):
        if _LEAST_CHARS <= len(text) <= _MOST_CHARS and text not in seen:
            seen.add(text)
            yield Sample(kind, text, exact.count(text), is_for_fitting)


def _recorded() -> Iterator[tuple[str, str, bool]]:
    for row in manifest_rows():
        is_for_fitting = hashlib.sha256(str(row["path"]).encode()).digest()[0] % 2 == 0
        try:
            transcript = redline.read_transcript(CORPUS / row["path"])
        except TranscriptError as refused:
            print(f"left out: {refused}")
            continue
        for conversation in transcript:
            reads: set[str | None] = set()
            for entry in conversation.entries:
                yield from ((kind, text, is_for_fitting) for kind, text in _texts(entry.message, reads))


def _texts(message: Message, reads: set[str | None]) -> Iterator[tuple[str, str]]:
    for part in message.parts:
        if isinstance(part, ToolCall) and any(isinstance(action, Reads) for action in describe(part)):
            reads.add(part.id)
        yield from _text(part, reads)


def _text(part: Part, reads: set[str | None]) -> Iterator[tuple[str, str]]:
    match part:
        case Text() | Reasoning():
            yield "prose", part.text
        case ToolCall(input=str()):
            yield "code" if not part.input.startswith("{") else "JSON", part.input
        case ToolCall():
            yield "JSON", payloads.encode(part.input).decode()
        case ToolResult():
            yield "code" if part.call_id in reads else "tool output", part.text


# --- fitting


def _fit(samples: Sequence[Sample]) -> list[float]:
    """The weights: those of rare scripts from the invented sentences, all others before them from the sessions."""
    recorded = [sample for sample in samples if sample.kind not in _RARE_KINDS]
    invented = [sample for sample in samples if sample.kind in _RARE_KINDS]
    common = [at for at, name in enumerate(FEATURES) if name not in _RARE_FEATURES]
    rare = [at for at, name in enumerate(FEATURES) if name in _RARE_FEATURES]
    return _descend(invented, rare, _descend(recorded, common, [0.0] * len(FEATURES)))


def _descend(samples: Sequence[Sample], free: Sequence[int], start: Sequence[float]) -> list[float]:
    """The free weights, none negative, with the least squared relative error, by coordinate descent."""
    squares, products = _normal_equations(samples)
    weights = list(start)
    for _ in range(20_000):
        change = 0.0
        for at in free:
            row = squares[at]
            slope = sum(map(float.__mul__, row, weights)) - products[at]
            better = max(0.0, weights[at] - slope / row[at]) if row[at] else 0.0
            change, weights[at] = max(change, abs(better - weights[at])), better
        if change < 1e-7:
            break
    return weights


def _normal_equations(samples: Sequence[Sample]) -> tuple[list[list[float]], list[float]]:
    squares, products = [[0.0] * len(FEATURES) for _ in FEATURES], [0.0] * len(FEATURES)
    for sample in samples:
        found = [(at, count / sample.tokens) for at, count in enumerate(count_features(sample.text)) if count]
        for at, count in found:
            products[at] += count
            for other, more in found:
                squares[at][other] += count * more
    return squares, products


# --- reports


def _print_weights(weights: Sequence[float]) -> None:
    print("\nWeights fitted on one half of the sessions\n")
    for name, weight in zip(FEATURES, weights, strict=True):
        note = "" if abs(WEIGHTS[name] - weight) < 0.001 else f"  # in use: {WEIGHTS[name]}"
        print(f'    "{name}": {weight:.3f},{note}')


def _print_errors(samples: Sequence[Sample], weights: Sequence[float]) -> None:
    print("\nError on the other half: median, 95th percentile, and of the sum\n")
    print(f"{'':14} {'texts':>6} {'tokens':>10}   {'estimate':^22}   {'characters / 4':^22}")
    for kind in ("all", *_KINDS):
        chosen = [sample for sample in samples if kind in ("all", sample.kind)]
        tokens = sum(sample.tokens for sample in chosen)
        fitted = _errors(chosen, lambda text: sum(map(float.__mul__, weights, map(float, count_features(text)))))
        naive = _errors(chosen, lambda text: len(text) / 4)
        print(f"{kind:14} {len(chosen):6,} {tokens:10,}   {fitted}   {naive}")


def _errors(samples: Sequence[Sample], count: Callable[[str], float]) -> str:
    counts = [count(sample.text) for sample in samples]
    errors = sorted(abs(counted / sample.tokens - 1) for counted, sample in zip(counts, samples, strict=True))
    bias = sum(counts) / sum(sample.tokens for sample in samples) - 1
    return f"{errors[len(errors) // 2]:6.1%} {errors[len(errors) * 95 // 100]:6.1%} {bias:+7.1%}"


def _print_pieces(texts: Sequence[str]) -> None:
    """What cutting long texts into pieces, and counting only some of those, changes: all texts in one, and parts of it."""
    print("\nLong texts: cut into pieces, and sampled, beside counting them whole\n")
    everything, whole = "\n".join(texts), Exact()._tokenizer
    for size in (100_000, 1_000_000, 4_000_000, len(everything)):
        text = everything[:size]
        tokens = len(whole.encode_ordinary(text))
        in_pieces = sum(len(whole.encode_ordinary(piece)) for piece in pieces(text))
        print(
            f"{size:12,} characters {tokens:10,} tokens   in pieces {in_pieces / tokens - 1:+.5%}"
            f"   as `Exact` {Exact().count(text) / tokens - 1:+.3%}   `Estimate` {Estimate().count(text) / tokens - 1:+.1%}"
        )


def _print_speed(texts: Sequence[str]) -> None:
    print("\nSpeed\n")
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    for counter in (Exact(), Estimate()):
        seconds = _seconds(counter.count, texts)
        print(f"{counter.name:12} {size / seconds / 1e6:6.0f} MB/s, {seconds / len(texts) * 1e6:6.1f} µs a text")
    remembered = Remembered(Estimate())
    for length in (100, 1000, 10_000):
        text = "x" * length
        remembered.count(text)
        seconds = _seconds(remembered.count, [text] * _REPEATS) / _REPEATS
        print(f"remembered   {seconds * 1e6:6.2f} µs for {length:,} characters")


def _seconds(count: Callable[[str], int], texts: Sequence[str]) -> float:
    start = time.process_time()
    for text in texts:
        count(text)
    return time.process_time() - start


# --- invented sentences


def _invented() -> Iterator[tuple[str, str, bool]]:
    for kind, lines in zip(_RARE_KINDS, (_CHINESE, _OTHER_SCRIPTS), strict=True):
        for number, line in enumerate(lines.strip().splitlines()):
            yield kind, line, number % 2 == 0


_CHINESE = """
每次请求之前，系统都会重新计算哪些消息应当发送给模型，而完整的会话记录始终保存在磁盘上，不会被改写。
如果同一个文件在对话中被读取了七次，那么只有最近的五次读取结果会保留，其余的替换为一行说明。
用户希望在终端输出过期之后自动压缩上下文，但是出错的命令结果必须原样保留，以免代理重复同样的错误。
请先阅读配置文件，再检查数据库连接是否正常，最后运行全部测试并把失败的用例列成表格。
这个函数的返回值可能为空，调用方需要自行判断；建议改为抛出异常，并在错误信息里写明文件名和行号。
昨天晚上我们发布了新版本，结果有三个客户反馈登录页面打不开，经过排查发现是证书过期导致的。
缓存命中率从百分之六十二提高到百分之九十一，平均响应时间缩短了一半，服务器成本也随之下降。
项目根目录下有三个子模块：前端界面、后端服务和命令行工具，它们共用一套类型定义。
秋天的早晨，湖面上飘着一层薄薄的雾气，远处的山峦若隐若现，偶尔传来几声鸟鸣。
老人坐在门口的石凳上，一边晒太阳一边给孩子们讲过去的故事，邻居家的猫静静地趴在他的脚边。
根据最新的统计数据，去年全国新能源汽车的销量同比增长了百分之三十五，充电桩的数量也翻了一番。
如果明天下雨，运动会将推迟到下周三举行，请各班班主任及时通知学生和家长。
接口返回 404 的原因是路由没有注册，需要在 `app.py` 里加上 `router.include("/users")` 这一行。
执行 `git rebase main` 之后出现冲突，请手动合并 src/utils/path.ts 中的改动，然后继续。
第一步，安装依赖：`npm install`；第二步，启动开发服务器：`npm run dev`；第三步，打开浏览器访问 3000 端口。
为了兼容 Windows 系统，路径分隔符统一转换成正斜杠，盘符和大小写差异都会被忽略。
日志显示内存占用持续上升，怀疑存在泄漏，建议用性能分析工具抓取一次堆快照再做判断。
医生建议他每天散步半小时，少吃油腻的食物，保证充足的睡眠，三个月后再来复查。
合同约定甲方应在收到发票后三十日内付款，逾期未付的，每日按未付金额的万分之五支付违约金。
我认为这个方案的主要问题不是性能，而是可维护性：一旦需求变化，十几个地方都要同时修改。
"""

_OTHER_SCRIPTS = """
Die Prüfung schlug fehl, weil die Größe der Datei größer als erlaubt war; bitte überprüfen Sie die Übertragung.
Le serveur a été arrêté hier soir après une erreur réseau, et personne ne l'a remarqué avant ce matin.
La aplicación no se inició porque faltaba el archivo de configuración; compruébelo e inténtelo otra vez mañana.
Użytkownik nie może się zalogować, ponieważ wczoraj wygasł certyfikat; proszę sprawdzić dziennik błędów.
Сервер перезапускается каждую ночь, поэтому проверьте журнал ошибок перед выпуском новой версии.
Пользователь не может войти в систему, потому что срок действия сертификата истёк вчера вечером.
今日はとても良い天気ですね。新しい機能を追加する前に、まずテストを書いてください。お願いします。
サーバーの設定ファイルが見つからないため、アプリケーションを起動できませんでした。もう一度確認してください。
안녕하세요, 오늘은 날씨가 좋습니다. 테스트를 실행하기 전에 설정 파일을 확인해 주세요.
사용자가 로그인할 수 없는 이유는 인증서가 만료되었기 때문입니다. 관리자에게 문의하세요.
يرجى التحقق من ملف الإعدادات قبل تشغيل الخادم مرة أخرى هذا المساء.
لا يستطيع المستخدم تسجيل الدخول لأن الشهادة انتهت صلاحيتها أمس.
Το αρχείο ρυθμίσεων δεν βρέθηκε, ελέγξτε τη διαδρομή και δοκιμάστε ξανά.
Ο διακομιστής σταμάτησε χθες το βράδυ και κανείς δεν το πρόσεξε μέχρι σήμερα.
सर्वर चालू करने से पहले कृपया कॉन्फ़िगरेशन फ़ाइल जाँच लें और फिर बताएँ।
उपयोगकर्ता लॉग इन नहीं कर पा रहा है क्योंकि प्रमाणपत्र की अवधि समाप्त हो गई है।
"""

if __name__ == "__main__":
    main()
