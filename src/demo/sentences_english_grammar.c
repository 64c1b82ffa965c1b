/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The English sentence grammar: templates with typed slots, and the word lists that fill them (see sentences_data.h).
 *
 * The lists are narrow on purpose: every word of a list must make sense in every slot that names it, and the words of
 * one list should not all sound alike. Constant data.
 */
#include "demo/sentences_data.h"

/* one list, one template per entry */
/* clang-format off */
const struct mx_sentence_list mx_sentences_english_lists[] = {
    /* people */
    {"woman", "Anna/Joyce/Beth/Chloe/Judith/Nora/Zoe/Sheila/Yasmin/Ruth/Vivian/Laura/Emily/Grace/Wendy/Heather"},
    {"man", "Peter/George/Keith/Charles/Roy/Hugo/Oscar/Jack/Victor/Theo/Ahmed/Brian/Walter/Shaun/Ian/Douglas"},
    {"person", "Alice/Boris/Cathy/Dominic/Eve/Frank/Joy/Henry/Isabel/Julian/Matthew/Megan/Naomi/Oliver/Paul/Rachel/"
               "Simon/Thelma/Ursula/Vera/William/Yvonne/Zachary/Leila/Arthur/Hugh"},
    {"role", "the baker/my sister/our teacher/the gardener/her uncle/the young pilot/my best friend/the mayor/"
             "our neighbour/the librarian/his grandfather/the tailor/the old fisherman/the new doctor/my cousin/"
             "the bus driver/the judge/their daughter/the shopkeeper/the watchmaker"},
    {"trade", "baker/pilot/gardener/nurse/lawyer/painter/teacher/engineer/butcher/singer/soldier/chemist/judge/"
              "mayor/fisherman/shepherd/mechanic/goldsmith"},
    {"job", "dentist/nurse/carpenter/journalist/translator/photographer/plumber/engineer/violinist/physicist/cook/"
            "zookeeper/watchmaker/hairdresser/bus driver/archaeologist"},
    {"kin", "mother/father/brother/aunt/nephew/cousin/youngest son/older sister/godfather/stepfather/niece/daughter"},
    {"group", "the whole family/her students/the neighbours/twelve hungry workers/the choir/his colleagues/"
              "the children/the football team/all of us/the old sailors"},
    {"crowd", "tourists/children/firemen/students/journalists/thirsty hikers/soldiers/young mothers/cyclists/"
              "musicians/nurses/strangers"},
    {"title", "[Dr.|Doctor]/[Prof.|Professor]/[Mr.|Mister]/[Mrs.|Missus]/Captain/Judge"},
    {"surname", "Hughes/Fischer/Thornton/Young/Baker/Shah/Olsen/Whitmore/Garcia/Jones/Voss/Chang/Murphy/Leclair/"
                "Boyd"},
    /* things */
    {"object", "wooden ladder/silver spoon/blue umbrella/torch/bicycle pump/leather bag/box of matches/hammer/"
               "kettle/pocket mirror/broken clock/yellow scarf/fishing rod/chessboard/pair of scissors/thick rope/"
               "jar of honey/map of the city/small radio/toothbrush/glass vase/iron hook/old photograph/"
               "wool blanket"},
    {"plain", "ladder/umbrella/kettle/hammer/mirror/clock/radio/suitcase/basket/lamp/bucket/telescope/chessboard/"
              "typewriter/pillow/vase/guitar/bottle/shovel/globe"},
    {"tool", "ladder/kettle/clock/radio/basket/lamp/bucket/guitar/shovel/suitcase/typewriter/umbrella/wheelbarrow/"
             "bench"},
    {"container", "cardboard box/leather suitcase/wicker basket/wooden chest/tin can/velvet pouch/glass jar/"
                  "large drawer"},
    {"closed", "rusty safe/heavy door/suitcase/oak chest/garden gate/pickle jar/parcel/cellar window/jewel case/"
               "cupboard"},
    {"fragile", "porcelain cup/violin/glass bowl/old lamp/chandelier/antique chair/painted egg/mirror/teapot/"
                "camera/music box/crystal jug/telescope"},
    {"reason", "the handle is loose/it belonged to my grandmother/there is only one left/the glue is still wet/"
               "it breaks very easily/nobody can repair it/I have just cleaned it/it was terribly expensive/"
               "we borrowed it from a museum/it is older than you think/the paint has not dried yet/"
               "your brother made it/I promised to look after it"},
    {"wearable", "glasses/gloves/raincoat/scarf/wallet/hat/shoes/jacket/watch/rucksack/keys/umbrella"},
    {"keepsake", "earrings/old letters/silk scarves/medals/photographs/wool socks/paint brushes/foreign coins/"
                 "seashells/jigsaw puzzles/sewing things/diaries"},
    {"furniture", "table/bookshelf/sofa/wardrobe/bench/piano/desk/armchair/cupboard/fireplace/chest of drawers/"
                  "stool"},
    {"material", "oak/walnut/bamboo/plastic/marble/iron/glass/leather/maple/pine"},
    {"seat", "table/bench/bookshelf/stool/desk/cabinet/bed frame/coat rack"},
    {"fix", "a piece of wire/some strong glue/a rusty nail/sticky tape/two screws/a bit of string/great patience/"
            "a borrowed tool/a strip of leather/melted wax"},
    {"bring", "some water/warm clothes/fresh batteries/a few sandwiches/enough money/your passport/dry socks/"
              "insect spray/sun cream/a pencil and paper"},
    {"colour", "red/blue/green/yellow/purple/orange/white/grey/brown/pink/beige/turquoise/black/violet"},
    {"look", "dusty/beautiful/strange/heavy/shiny/tiny/crooked/golden/broken/huge/lovely/ancient/cheap/curious/ugly"},
    {"vehicle", "bus/train/tram/ferry/coach/taxi/night train/aeroplane/boat"},
    {"route", "bus/train/coach/night train/express/morning flight/last bus/sleeper"},
    {"car", "van/lorry/jeep/motorbike/tractor/taxi/scooter/fire engine/bicycle/milk float"},
    {"instrument", "violin/flute/cello/trumpet/harp/oboe/piano/guitar/clarinet/accordion/tuba/banjo/xylophone/"
                   "bagpipes"},
    {"band", "jazz quartet/small orchestra/brass band/school band/youth orchestra/rock group/village band/circus/"
             "folk trio/theatre"},
    /* food */
    {"dish", "mushroom soup/fish pie/roast chicken/rice with beans/onion tart/beef stew/vegetable curry/"
             "cheese dumplings/grilled trout/pancakes with jam/lentil soup/spicy noodles/potato salad/"
             "shepherd's pie"},
    {"pot", "soup/stew/sauce/curry/broth/gravy/stuffing/marinade"},
    {"mass", "flour/sugar/butter/cream/rice/vinegar/oil/cheese/garlic/ginger/milk/chocolate/yeast"},
    {"occasion", "birthday cake/wedding dinner/school picnic/children's party/village feast/Sunday lunch/pancakes/"
                 "apple pie/street market/family reunion/camping trip/dumplings/biscuits"},
    {"spice", "pepper/garlic/thyme/cinnamon/parsley/ginger/saffron/salt/chilli/lemon juice/mustard/nutmeg/basil/"
              "vinegar"},
    {"crop", "apples/cherries/plums/grapes/pumpkins/olives/figs/oranges/raspberries/walnuts/peaches/chestnuts/"
             "melons"},
    {"goods", "bread/butter/copper/coffee/wheat/petrol/timber/fish/paper/chocolate/wool/rice/cheese/steel"},
    {"smell", "fresh paint/burnt toast/old books/lavender/coffee and cinnamon/damp wood/lemon soap/pipe smoke/"
              "onions/wet dog/candle wax/new leather/peppermint/roses/mothballs/garlic"},
    /* animals */
    {"animal", "fox/horse/goose/tiger/donkey/owl/rabbit/camel/zebra/elephant/squirrel/crow/wolf/giraffe/cheetah/"
               "goat/hedgehog/ox/kangaroo/swan/bear/monkey"},
    {"small", "rabbit/lizard/kitten/mouse/hedgehog/squirrel/puppy/chicken/fox/hare/weasel/duckling/goat/frog"},
    {"herd", "geese/horses/sheep/donkeys/goats/pigeons/cows/ducks/rabbits/ponies/chickens/oxen"},
    {"animaladj", "sleepy/black/wild/huge/white/young/lazy/angry/friendly/hungry/frightened/limping/curious/thirsty"},
    {"compare", "faster/louder/heavier/braver/smarter/noisier/stronger/more dangerous/slower/lazier/shyer/"
                "more useful"},
    {"yard", "field/barn/yard/meadow/stable/orchard/village square/garden/paddock/valley"},
    {"cover", "barn/bushes/stone wall/haystack/fence/oak tree/shed/church/hedge/wheelbarrow/woodpile/garage"},
    {"shelter", "stable/barn/shade/shed/cave/woods/old mill"},
    /* places */
    {"city", "London/Oslo/Cairo/Boston/Vienna/Tehran/Geneva/Tokyo/Lisbon/Dublin/Chicago/Athens/Shiraz/Brussels/"
             "Warsaw/Montreal/Zurich/Edinburgh/Jakarta/Nairobi"},
    {"place", "post office/station/museum/bakery/town hall/swimming pool/library/harbour/cathedral/theatre/"
              "hospital/football ground/chemist's shop/bridge/fountain/zoo/courthouse/cinema/university"},
    {"market", "market/flea market/village fair/corner shop/department store/hardware store/auction/airport/"
               "museum shop/garage sale"},
    {"room", "kitchen/bedroom/bathroom/cellar/attic/garage/hallway/dining room/library/nursery/guest room/workshop"},
    {"roomstate", "cold/narrow/half empty/dark/noisy/shabby/tiny/full of boxes/unfurnished/dusty/far too bright/"
                  "draughty"},
    {"region", "valley/region/village/county/garden/part of the country/orchard/island/province"},
    {"lookout", "balcony/rooftop/beach/hilltop/bridge/tower/ship's deck/cliff/kitchen window/mountain hut/pier"},
    {"sky", "stars/clouds/lightning/fireworks/waves/geese/kites/sailing boats/northern lights/rising moon/"
            "snowstorm/fishing boats/swallows"},
    {"sailor", "captain/fisherman/crew/passengers/ship's cook/travellers/lonely sailor/explorers"},
    {"land", "the lights of Lisbon/a green island/the white cliffs/a lighthouse/the mouth of the river/"
             "a fishing village/the snowy mountains/a flock of gulls/the harbour/another ship"},
    /* time and number */
    {"weekday", "Monday/Tuesday/Wednesday/Thursday/Friday/Saturday/Sunday"},
    {"month", "January/February/March/April/May/June/July/August/September/October/November/December"},
    {"ripe", "June/July/August/September/October/late summer/early autumn"},
    {"season", "winter/spring/summer/autumn"},
    {"past", "last week/yesterday/on Friday/this morning/two years ago/last Tuesday/on the way home/"
             "before Christmas/in January/a month ago"},
    {"future", "next week/tomorrow/on Thursday/this evening/in a fortnight/after lunch/at the weekend/in March/"
               "before sunrise/the day after tomorrow/on New Year's Eve/in half an hour"},
    {"time", "[7:45|seven forty-five]/[6|six] o'clock/half past eight/[9:20|nine twenty]/noon/a quarter past three/"
             "[11:05|eleven oh five]/[5:30|five thirty]/midnight/[10:15|ten fifteen]/twelve minutes past four"},
    {"num", "two/three/[4|four]/five/[6|six]/seven/[8|eight]/nine/[10|ten]/eleven/[12|twelve]/thirteen/"
            "[15|fifteen]/[18|eighteen]/twenty/[24|twenty-four]/thirty/[36|thirty-six]/[50|fifty]/[75|seventy-five]"},
    {"few", "two/three/[4|four]/five/[6|six]/several/almost eight/more than nine"},
    {"ordinal", "first/[2nd|second]/third/[5th|fifth]/[8th|eighth]/ninth/[12th|twelfth]/[14th|fourteenth]/"
                "[20th|twentieth]/[23rd|twenty-third]/twenty-eighth"},
    {"age", "[18|eighteen]/twenty-one/[30|thirty]/[37|thirty-seven]/forty/[45|forty-five]/fifty/[62|sixty-two]/"
            "seventy/[85|eighty-five]/[99|ninety-nine]/one hundred"},
    {"money", "[$3|three dollars]/[$8.50|eight dollars fifty cents]/twenty dollars/[$15|fifteen dollars]/"
              "[$40|forty dollars]/[$99|ninety-nine dollars]/a hundred pounds/[$120|one hundred and twenty dollars]/"
              "sixty pounds/[$2,000|two thousand dollars]/half a fortune/less than a pound"},
    {"percent", "[3%|three percent]/[5%|five percent]/ten percent/[12%|twelve percent]/[25%|twenty-five percent]/"
                "nearly half/[40%|forty percent]/a third"},
    {"period", "week/month/year/fortnight/day"},
    /* doing and being */
    {"act", "visit the zoo/bake a cake/go fishing/paint the fence/play chess/watch a film/climb the hill/"
            "plant some trees/read a good book/wash the car/learn a new song/sail to the island/pick mushrooms/"
            "stay at home/build a bonfire/write a few letters/cook something spicy/sort the old photographs"},
    {"doing", "washing the dishes/reading a newspaper/fixing a bicycle/feeding the chickens/writing a letter/"
              "peeling potatoes/practising the oboe/watering the roses/brushing the horse/counting the money/"
              "sleeping on the sofa/looking for a pencil/chopping wood/boiling an egg/polishing a shoe"},
    {"chore", "feed the cat/water the plants/wash the windows/buy the bread/repair the roof/walk the dog/"
              "iron the shirts/pay the bills/sweep the yard/collect the post/lock the gate/peel the carrots/"
              "answer the phone"},
    {"skill", "how to juggle/three foreign languages/to ride a horse/how to bake bread/the rules of chess/"
              "to play the harp/how to swim/sign language/to drive a tractor/how to fold paper birds/"
              "some magic tricks"},
    {"dream", "opening a bookshop/studying medicine/becoming a judge/singing in the opera/owning a vineyard/"
              "designing bridges/living on a houseboat/teaching yoga/writing a thriller/training guide dogs/"
              "playing professional hockey"},
    {"advice", "drink some water/ask for permission/check the map/call your mother/read the instructions/"
               "wash your hands/count to ten/take off your shoes/look in the mirror/charge the battery/"
               "talk to a lawyer/take a deep breath/put on your gloves/shut the window"},
    {"deed", "cross the desert/sign the contract/start the engine/enter the temple/touch the switch/"
             "make a decision/go to bed/leave the house/open the oven/jump into the pool/accuse anybody/"
             "buy that horse/feed the lions/judge others"},
    {"weather", "rains/snows/is sunny/is too windy/gets foggy/freezes/is as hot as today/thunders/stays dry/"
                "clears up"},
    {"climate", "cold/dry/stormy/mild/long/rainy/beautiful/strange/foggy/gloomy/warm/treacherous"},
    {"harsh", "hot/cold/windy/foggy/noisy/dark/stormy/humid/icy/wet"},
    {"signal", "doorbell/telephone/church bell/alarm/school bell/fire alarm/dinner bell/kitchen timer"},
    {"manner", "slowly/without a word/with a sigh/very carefully/quite suddenly/with trembling hands/"
               "after a short pause/smiling to himself/at last/in the dark"},
    {"tale", "funny/frightening/long/strange/sad/charming/thrilling/foolish/beautiful/curious/confusing/dreadful"},
    {"body", "knee/shoulder/elbow/back/neck/ankle/wrist/hip/thumb/left foot/right arm/jaw/spine/left heel"},
    {"strain", "climb the stairs/carry the shopping/lift a heavy box/sneeze/sit at the computer/dig in the garden/"
               "walk too fast/play the violin/lean forward/sleep on the floor/wash the windows/laugh too much/"
               "shovel snow/ride a bicycle"},
    {"language", "Spanish/French/Persian/Welsh/Japanese/Polish/English/Turkish/Dutch/Russian/Chinese/Greek/Swahili/"
                 "Hindi"},
    {"topic", "the history of glass/whales/renewable energy/the human voice/Roman roads/poisonous mushrooms/jazz/"
              "the moons of Jupiter/children's dreams/the price of gold/earthquakes/ancient ships/healthy sleep/"
              "the future of television/wild bees/measuring time/the art of juggling/lost treasures/pigeons"},
    {"source", "the newspaper/my aunt/the radio/a sign on the door/the woman next door/our guide/the police/"
               "an official letter/the mayor/the weather service"},
    {"praise", "charming/huge/wonderful/cosy/unusual/peaceful/lovely/gorgeous/joyful/elegant/impressive/tidy/"
               "delightful"},
    {"possession", "garden/voice/kitchen/family/collection of stamps/view/library/orchard/smile/workshop/cottage/"
                   "singing parrot/house by the sea/way with words"},
};
const unsigned mx_sentences_english_list_count = sizeof mx_sentences_english_lists / sizeof *mx_sentences_english_lists;

const char *const mx_sentences_english_templates[] = {
    "{role} bought {a object} at the {market} {past}.",
    "{person} lost {a object} somewhere near the {place}.",
    "Have you ever seen {a animaladj} {animal} in {city}?",
    "The {small} ran behind the {cover} and disappeared.",
    "{woman} said that her {kin} would arrive {future}.",
    "{man} wants to learn {skill} before his next birthday.",
    "Every {weekday}, {role} cooks {dish} for {group}.",
    "How much {mass} do we need for the {occasion}?",
    "There are {num} {herd} in the {yard}.",
    "The {route} to {city} leaves at {time}.",
    "{person} has lived in {city} for {num} years.",
    "Please put the {plain} next to the {furniture}.",
    "If it {weather} tomorrow, we will {act}.",
    "{person} and {person} are going to {act} {future}.",
    "Why did {role} leave the {plain} in the {room}?",
    "The {look} {plain} on the {furniture} belongs to {person}.",
    "I would rather {act} than {act}.",
    "Nobody in {city} remembers such {a climate} {season}.",
    "{role} mended the {tool} with {fix}.",
    "The {room} of our house smells of {smell}.",
    "{woman} painted the {room} {colour} and the {room} {colour}.",
    "On the {ordinal} of {month}, {person} will turn {age}.",
    "It takes {num} minutes to walk from the {place} to the {place}.",
    "{person} paid {money} for {a object}.",
    "Do you know whether {role} speaks {language}?",
    "For most of us, {language} is easier to read than {language}.",
    "The {trade} told {a tale} story about {a animal} and {a animal}.",
    "When the {signal} rang, {person} was {doing}.",
    "My {body} hurts whenever I {strain}.",
    "{weekday} is the only day when {role} can {act}.",
    "What {a praise} {possession} you have!",
    "Don't forget to bring {a object} and {bring}!",
    "Is {a animal} really {compare} than {a animal}?",
    "We watched the {sky} from the {lookout} for {few} hours.",
    "{man} forgot his {wearable} at the {place} and had to go back.",
    "{woman} keeps her {keepsake} in {a container} under the bed.",
    "According to {source}, the {place} will be closed until {month}.",
    "The {crop} in this {region} are ripe in {ripe}.",
    "She added {spice} and {spice} to the {pot}.",
    "Can you see the {colour} {car} behind the {place}?",
    "{role} never travels without {a object} and {a object}.",
    "After {num} days at sea, the {sailor} finally saw {land}.",
    "The {instrument} and the {instrument} were out of tune, but {person} sang well.",
    "{person} plays the {instrument} in {a band}.",
    "Although the {room} was {roomstate}, {person} felt at home.",
    "{num} {crowd} were waiting in front of the {place}.",
    "{title} {surname} gave a lecture about {topic} in {city}.",
    "{title} {surname} will be in room {num} until {time}.",
    "The price of {goods} rose by {percent} last {season}.",
    "I read an article about {topic} while I was waiting for the {vehicle}.",
    "Which is closer to the {place}, the {place} or the {place}?",
    "Be careful with the {fragile}, because {reason}.",
    "{manner}, {man} opened the {closed} and took out {a object}.",
    "The {trade}'s {kin} works as {a job} in {city}.",
    "You should {advice} before you {deed}.",
    "It was so {harsh} that the {herd} stayed in the {shelter}.",
    "{woman} dreams of {dream} in {city}.",
    "Neither {person} nor {person} could open the {closed}.",
    "The {material} {seat} cost {money}, and it broke within a {period}.",
    "Let's meet at the {place} at {time} on {weekday}.",
    "Who is going to {chore} while {person} is away?",
    "{role} has to {chore} and {chore} before {time}.",
    "The {colour} paint was used up, so {person} painted the {tool} {colour}.",
    "Does {person} still want to {act}, or shall we {act}?",
};
const unsigned mx_sentences_english_template_count =
    sizeof mx_sentences_english_templates / sizeof *mx_sentences_english_templates;
/* clang-format on */
